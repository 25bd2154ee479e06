// Package durable makes changes of directories survive a power cut, and keeps two processes from writing the same files. A
// synced file survives only if its directory is synced too. Only Replace syncs the contents of a file. ReadFile does not wait
// for the writer of a pipe.
//
//	err := durable.Rename(path+".new", path) // the file was synced before
//
// # Tasks
//
//   - create a directory: [MakeDirectory]
//   - sync a directory: [SyncDirectory]
//   - replace a file: [Rename]; write it first: [Replace]
//   - read a file that a user named: [ReadFile]
//   - lock files for this process: [Lock]
package durable
