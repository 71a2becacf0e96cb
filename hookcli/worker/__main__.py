"""The child process. It is started by path, so that no folder is added to the import path.

Arguments: descriptors of the job, the answer, the last event and the dump; hookcli's parent folder.
"""

import sys

if __name__ == "__main__":
    # Python puts the folder of this script first on the path, unless PYTHONSAFEPATH is set. Nothing
    # must be imported from it. hookcli comes last: packages next to it must not hide the user's.
    if sys.path[0] == sys.argv[0].rpartition("/")[0]:
        del sys.path[0]
    if sys.argv[5] not in sys.path:
        sys.path.append(sys.argv[5])
    from hookcli.worker.child.main import main

    main(*(int(argument) for argument in sys.argv[1:5]))
