"""h5py, for tests that look into HDF5 files; without it a test is skipped."""
import sys

try:
    import h5py
except ImportError:
    print("no h5py")
    sys.exit(77)
