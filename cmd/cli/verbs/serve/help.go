package serve

const help = `The connect token of a client contains its room, seat and role. A server without --key-file is for development: it prints
a command that joins it. The command names a file with a token, and the file has a new token each time a client has used
the last one. Only you can read the file, and it is removed at the end.

With --journal, clients receive a tick only after it is written to the journal, unless the disk is slow. The next server with the same --journal
continues every match, after a stop (Ctrl-C, SIGTERM) and after a crash (kill -9). Clients reconnect by themselves if it is
back within --keep-seat and a minute and a half. Another build can continue the matches of a game without floats if it computes
the same states. Otherwise
it does not start, and names the journal; with --other-build refuse, it refuses the clients of these rooms. With --other-build change, every match of another build
continues with the rules of this one. Its state is carried over by the names of components and fields. Added ones are zero,
removed ones are dropped, and a field with another type is refused. The change is an order in one of the next two ticks, and the ticks
before stay in ROOM-MATCH-TICK.ended.journal. The verb dev does this when a file is saved. Without --key-file the key is stored with the journals, as server.key. --fsync chooses how much a
power cut can lose:
  always  Nothing that a client received. Clients receive no tick before it
          is on the disk.
  100ms   Up to a tenth of a second of play, or the given time. Clients return
          the lost ticks when they reconnect, with proofs that the server
          sent them.
  never   What the system had not written yet, often half a minute. Clients
          return what they have, about 15 s.
With verify, clients have no ticks to return, so only --fsync always keeps all that they received.
With --matches too, the server adds results from the journals that the previous server did not record.
--on-stop selects what a stop does with the running matches:
  keep    They stop after their last tick, and continue in the next server.
          Clients show that the server restarts, and wait for it. Results
          that players vote on are recorded by the next server.
  finish  They continue until their players have left. The server refuses
          further rooms and players. A second signal ends the matches.
  end     They end, and clients receive that the server shuts down.

While a journal cannot be written, as on a full disk, its match waits. It continues when the journal can be written. If a write
takes more than a quarter of a second, the match continues, and clients receive ticks that are not written yet. After three
seconds the match waits, with --fsync always after one second. The event journal_slow reports such a write. A match ends
when its room is empty, or with --on-stop end. It leaves ROOM-MATCH.ended.journal, which may be removed.

A token is good for one connection, also after a restart: DIR/tokens.used records the used ones until they expire. A server
refuses tokens minted before that record began, since they may have been used. Without --journal it begins with each start.
While the record cannot be written, the server refuses clients with that reason, and they try again with the same token.

A journal that is damaged, or a file that is no journal, is moved to DIR/quarantine with a warning, and the other matches
resume. Its match is over. A build or strategy that fits none of the journals is an error, and no file is changed. With
--quarantine=false, each journal that cannot be recovered is such an error.

With --json, the events about journals are recovered, journal, journal_changed, journal_torn, journal_removed, journal_quarantined,
journal_skipped, journal_failed, journal_recovered, journal_slow, journal_ended, journal_refused, journal_removed_directory, tokens_failed, tokens_lost and key_lost. The event waiting names the players for whom
a continued match waits, until a time. The events stopping and kept are those of a stop. The event lag
reports that matches paused because the server stood still or is too slow. The event token_refused reports the first token that an
earlier server may have accepted.

With --admin 127.0.0.1:9090, http://127.0.0.1:9090/ shows rooms, players and the costs of ticks, /metrics is for Prometheus,
/debug/pprof/ has profiles, and /healthz and /readyz are for the program that starts and stops servers. With
--admin-token-file too, the verbs players, kick, ban, switch, pause and resume control the running server.

A client is expelled for lying, if its checksums differ too often; for flooding, if it sends too many messages or packets;
or for framing, if they are malformed. It is then banned for --ban-time: the server refuses all its tokens, and the client
receives the time that is left. With --journal, the banned clients are kept in bans.json beside the journals. Without it,
the bans end with the server.

A player who loses the connection keeps the seat for --keep-seat. The client tries to connect twice a second, for
that time and at least a minute and a half. After --keep-seat it returns if the seat is free and the room is open. A room without
players closes after half a minute, or 15 s after --keep-seat if that is longer. A longer --keep-seat, such as 10m for players
whose computers sleep, keeps idle players in the match.

A pause stops the ticks of one match. The operator begins it with the verb pause; with --pause players, every player can
too. It ends with resume or after --pause-time. Players can end each other's pauses, but not one of the operator.

With --lan, every client on the local network may join without a token: run join there without an address. Requests from other networks
are ignored. The server prints code words for each client that receives a token, and so does the client. If they differ,
another host is between the two and can play in place of that client.

With --broadcast DIR, every room is written into DIR/ROOM as files that never change, each with 3 s of the match. Any web server
and any HTTP cache carries them, and viewers cost the room nothing: see watch. They see the match after --broadcast-delay. The files contain
the whole state, also the state of the random numbers. Clients of predict, reckon and verify do not have all of it: choose a delay after which
it is of no use to players. A game with private data is broadcast only with --broadcast-private. The files of the last
48 s are kept. With --on-stop keep and after a crash, those that are not visible yet are never written. With --json, the events
are broadcast, broadcast_failed and broadcast_recovered.

With --cluster, several servers store their matches in NATS together, and no --journal is used. Each room is on one server.
If a server ends or is cut off, another one continues its rooms after about two seconds. Clients reconnect by themselves. All
servers need the same --key-file. A match keeps its strategy on a server with another --sync if the settings are the default
ones. With --fsync always, a server that fails loses nothing. With 100ms it loses up to a tenth of a second of play, and up
to three seconds while NATS accepts no entries. With lockstep and relay, clients return these ticks. SIGTERM and the verb
drain move the rooms to other servers while they are played. embedded runs NATS in this process, without a port, with the
files in --cluster-dir. No other server can join, so its rooms do not move. Bans end with the server. With --json, the events
are cluster_waits, cluster_joined, cluster_left, cluster_lost, cluster_back, cluster_connected, cluster_disconnected,
cluster_checked, cluster_error, journal_lost, draining, drain_waits, moved, move_failed, drained and accepting.

With --agones, the server reports itself to Agones: ready when it listens, and health while its rooms answer. It also reports the
counter rooms, the list players, and the labels build and protocol. It is Allocated while a room is open. When Agones removes the
server, it stops as with SIGTERM. A server that stops accepts no further rooms. At its end it requests its removal. With --json, the
events are agones_failed, agones_recovered and agones_removes. The guide FLEETS.md describes a fleet.

A room whose rules panic ends, with a report, and the others continue. With --max-rooms 1 or without --key-file, the server
ends with exit code 1 if no other room is open.

Examples:
  serve
  serve --lan
  serve --public game.example.net:7777 --key-file server.key --max-rooms 500
  serve --record recordings --matches matches.db
  serve --admin 127.0.0.1:9090
  serve --admin :9090 --admin-token-file admin.token
  serve --key-file server.key --journal journals
  serve --key-file server.key --journal journals --fsync always
  serve --web :7778 --web-pages site    browsers play, too
  serve --broadcast casts               for any number of viewers
  serve --cluster embedded
  serve --listen 10.0.0.9:7777 --key-file server.key --cluster nats://n1,n2,n3
  serve --agones auto --key-file server.key --on-stop finish
  serve --key-file server.key --on-stop finish`
