// Package matches stores a record of every decided match in one bbolt file: players, result, votes and the path of the
// recording. The verbs serve and matches use it. It is independent of any game.
//
//	store, err := matches.Open("matches.db") // the server
//	recorder := matches.NewRecorder(store, func(err error) { log.Print(err) })
//	recorder.Add(matches.Record{Room: "main", Result: "3:1", Verdict: "majority"}) // never waits
//	err = errors.Join(recorder.Close(), store.Close())
//
//	for r, err := range matches.Read("matches.db", "") { … } // any process, also while the server runs
//
// Only one process can open a bbolt file for writing, and no other can read it meanwhile. So a server opens the file for
// each record, and a reader for each bounded page. A second server is refused by the lock of FILE.lock.
//
// Tasks:
//
//   - store a match durably: [Store.Add]
//   - store a match from a loop that must not wait: [Recorder.Add]; [Recorder.Wait] waits
//   - list matches, newest first: [Read]
package matches
