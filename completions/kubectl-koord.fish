# Completion of kubectl-koord for fish, as kubectl koord completion fish prints it.
function __kubectl_koord_complete
    set -l typed (commandline -opc)
    set -l word (commandline -ct)
    set -l found (kubectl-koord __complete $typed[2..-1] "$word" 2>/dev/null)
    set -l before (string match -r -- '^-[^=]*=' "$word")
    set -l value (string replace -r -- '^-[^=]*=' '' "$word")
    switch "$found[-1]"
        case :0
            __fish_complete_path "$value" | string replace -r '^' -- "$before"
        case :16
            __fish_complete_directories "$value" | string replace -r '^' -- "$before"
        case '*'
            for candidate in $found[1..-2]
                printf '%s%s\n' "$before" $candidate
            end
    end
end
complete -c kubectl-koord -f -k -a '(__kubectl_koord_complete)'
