"""The entry point of the command. Signals are handled first, so that no worker is left behind."""

import sys

if __name__ == "__main__":
    from hookcli.interpreters.start import WITHOUT_WORKING_FOLDER

    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        del sys.path[0]  # the working folder, which -m adds
    exec(WITHOUT_WORKING_FOLDER, {})

import gc  # not from the working folder


def main() -> None:
    """Run the command line and exit with its status."""
    gc.disable()  # the process is short: collection takes two thirds of reading a big report
    try:
        import signal  # in the block: Ctrl-C that ends an import shows no traceback

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        sys.exit(130)  # as `errors.Status.INTERRUPTED`, which is not imported yet
    from hookcli.cli.main import guarded
    from hookcli.system.process_end import leave

    leave(guarded(sys.argv[1:]))


if __name__ == "__main__":
    main()
