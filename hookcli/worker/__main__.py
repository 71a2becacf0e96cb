"""The child process. Started by path, so that neither its folder nor the user's is searched.

Arguments: descriptors of the job, the answer, the last event and the dump; hookcli's parent folder.
"""

import sys

if __name__ == "__main__":
    # The folder of this script stands first on the path, but for PYTHONSAFEPATH; nothing is to be
    # imported from it, and hookcli itself comes last: its neighbours must not hide the user's.
    if sys.path[0] == sys.argv[0].rpartition("/")[0]:
        del sys.path[0]
    if sys.argv[5] not in sys.path:
        sys.path.append(sys.argv[5])
    from hookcli.worker.child.main import main

    main(*(int(argument) for argument in sys.argv[1:5]))
