// Package matches stores a record of every decided match in one bbolt file: players, result, votes and the path of the
// recording. The verbs serve and matches use it. It is independent of any game.
//
//	store, err := matches.Open("matches.db") // the server: writes, and answers queries
//	recorder := matches.NewRecorder(store, func(err error) { log.Print(err) }, func(r matches.Record) { log.Print(r) })
//	recorder.Add(matches.Record{Room: "main", Result: "3:1", Verdict: "majority"}) // never waits
//	err = errors.Join(recorder.Close(), store.Close())
//
//	for r, err := range matches.Read("matches.db", "") { … } // any process, also while the server runs
//
// Tasks:
//
//   - store a match durably: [Store.Add]
//   - store a match from a loop that must not wait: [Recorder.Add]; [Recorder.Wait] waits, as long as its context allows
//   - list matches, newest first: [Read]
//   - store matches in a cluster: [NewStreamRecorder], beside a file with [Recorder.And]; list them: [ReadStream]; list both: [Merge]
//
// After damage was found, or after the disk failed to write, a Store does not use its file any more. It cannot be known what a
// further write would destroy, and bbolt may wait for ever for its own lock. The same holds for a file that was removed or replaced.
// A [Recorder] checks the file each second. No method of a [Recorder] waits for ever, either.
//
// # While a server runs
//
// Only one process can open a bbolt file for writing, and no other can read it meanwhile. So a Store also listens on a Unix
// socket beside the file, FILE.sock, which only its own user may open. [Read] tries the socket first and opens the file,
// read-only, if there is no answer. Either way it reads one bounded page at a time. Between pages it holds no lock and no
// connection, so a slow reader does not delay a server.
//
// A query is one line of JSON, {"room":"main","before":18}, at most 1 KiB; before is an id, 0 for the newest. The answer is
// one line too, {"records":[…],"next":5} or {"error":"…"}; next is the before of the next page, 0 at the end. A truncated
// answer is not valid JSON. The permissions of the socket are the authentication, so it is not a loopback port. The path
// may be too long for a socket (about 100 bytes), or the file system has no sockets. Then the socket is in a new private
// directory, and FILE.sock is a symbolic link to it. The next server replaces the socket of a killed one: it has the lock of the file.
package matches
