// Package durable makes the names of files survive a power cut: that a file was synced says nothing of the directory
// that it is found by; and keeps two processes from writing the same ones. It is not a file format, and syncs no file's
// content.
//
//	err := durable.Rename(path+".new", path) // the file was synced before
//
// # Tasks
//
//   - make a directory: [MakeDirectory]
//   - keep what was created or removed in one: [SyncDirectory]
//   - replace a file: [Rename]
//   - have a file or a directory for this process alone: [Lock]
package durable
