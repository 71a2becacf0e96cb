"""The child process. Started by path, so that neither its folder nor the user's is searched.

Arguments: descriptors of the job, the answer, the last event and the dump; hookcli's parent folder.
"""

import sys

if __name__ == "__main__":
    # The folder of this script stands first on the path; nothing is to be imported from it, and
    # hookcli itself comes last, so that its neighbours cannot hide the user's modules.
    del sys.path[0]
    if sys.argv[5] not in sys.path:
        sys.path.append(sys.argv[5])
    from hookcli.worker.child import main

    main(*(int(argument) for argument in sys.argv[1:5]))
