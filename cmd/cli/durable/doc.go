// Package durable makes changes of directories survive a power cut, and keeps two processes from writing the same files. A
// synced file survives only if its directory is synced too. The package does not sync the contents of files.
//
//	err := durable.Rename(path+".new", path) // the file was synced before
//
// # Tasks
//
//   - create a directory: [MakeDirectory]
//   - sync a directory: [SyncDirectory]
//   - replace a file: [Rename]
//   - lock files for this process: [Lock]
package durable
