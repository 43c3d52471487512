# Completion of kubectl-koord for bash, as kubectl koord completion bash prints it.
_kubectl_koord() {
    local line=${COMP_LINE:0:COMP_POINT} words=() candidate directive=:0 typed before
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    COMPREPLY=()
    while IFS= read -r candidate; do
        case $candidate in
        :[0-9]*) directive=$candidate ;;
        ?*) COMPREPLY+=("${candidate%%$'\t'*}") ;;
        esac
    done < <(kubectl-koord __complete "${words[@]:1}" 2>/dev/null)
    # readline replaces only what stands behind the last colon
    typed=${words[${#words[@]} - 1]}
    [[ $typed == -*=* ]] && typed=${typed#*=}
    if [[ $typed == *:* && $COMP_WORDBREAKS == *:* ]]; then
        before=${typed%"${typed##*:}"}
        COMPREPLY=("${COMPREPLY[@]#"$before"}")
    fi
    case $directive in
    :0) compopt -o default 2>/dev/null ;;
    :16) compopt -o dirnames 2>/dev/null ;;
    esac
    return 0
}
complete -F _kubectl_koord kubectl-koord
