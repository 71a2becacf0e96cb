"""The first lines of the child process, which any version of Python can run, such as 2.7.

The parent passes this text with `-c`, after the lines of `interpreters/start.py`, and not by path:
a program that is not Python might change a file that it is given. Arguments: descriptors of the
job, the answer, the last event, the dump and the parent's life; hookcli's parent folder; the oldest
version of Python that hookcli supports. The fork server (watched/fork_server.py) also gets the
descriptor of its socket.
"""

import os
import sys

if __name__ == "__main__":
    if len(sys.argv) < 9:
        try:
            os.write(int(sys.argv[2]), ("hookcli " + sys.version.split()[0] + "\n").encode("ascii"))
        except OSError:  # the parent has ended already
            os._exit(0)
    if list(sys.version_info[:2]) < [int(part) for part in sys.argv[7].split(".")]:
        os._exit(0)  # the parent knows the version
    import importlib.machinery
    import importlib.util

    # Only the package itself is handed over. Its neighbours may be built for another Python, and
    # hide the packages of the user.
    spec = importlib.machinery.PathFinder.find_spec("hookcli", [sys.argv[6]])
    if spec is None or spec.loader is None:
        sys.exit("hookcli: not found in " + sys.argv[6])
    hookcli = importlib.util.module_from_spec(spec)
    sys.modules["hookcli"] = hookcli
    spec.loader.exec_module(hookcli)
    # Processes of multiprocessing run the file of the main module again, and find nothing to do.
    __file__ = hookcli.__path__[0] + "/worker/__main__.py"

    if len(sys.argv) > 8:
        from hookcli.worker.child.forking import serve

        serve(int(sys.argv[8]))
    from hookcli.worker.child.main import main

    main(*(int(argument) for argument in sys.argv[1:6]))
