"""The policies, one small file each."""
