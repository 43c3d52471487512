import signal

# Whoever starts the tests in the background may have set these to be ignored, and every program
# that a test starts would inherit it: a test that sends one would wait for ever.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
