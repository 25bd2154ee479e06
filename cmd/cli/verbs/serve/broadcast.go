package serve

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"tendon/cmd/cli/durable"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/net/broadcast"
)

type broadcastFlags struct {
	Broadcast        string         `group:"Viewers" type:"path" placeholder:"DIR" help:"Write every match as fragments of 3 s into DIR/ROOM, for any number of viewers: see watch. One server writes into DIR. With --web, the server also serves them at /broadcast/ROOM."`
	BroadcastDelay   *time.Duration `group:"Viewers" placeholder:"TIME" help:"Delay from the end of a fragment until viewers can load it, 0s to 15m. Default: 10s."`
	BroadcastPrivate bool           `group:"Viewers" help:"Broadcast a game with private data. All viewers receive the data. Requires --broadcast-delay."`
}

// broadcastPath is the path of the broadcasts on the address of --web.
const broadcastPath = "/broadcast/"

const defaultDelay = 10 * time.Second

// broadcastOf returns the broadcast of the flags, nil without --broadcast.
func (v *Verb) broadcastOf(a *app.App) (*host.Broadcast, error) {
	if v.Broadcast == "" {
		if v.BroadcastDelay != nil || v.BroadcastPrivate {
			return nil, errors.New("--broadcast-delay and --broadcast-private go with --broadcast: add a directory, such as --broadcast casts")
		}
		return nil, nil
	}
	b := &host.Broadcast{Dir: v.Broadcast, Delay: defaultDelay}
	if v.BroadcastDelay != nil {
		b.Delay = *v.BroadcastDelay
	}
	if v.RelayOnly {
		return nil, errors.New("--relay-only and --broadcast do not go together: a broadcast contains the checksum of every state, so the server must simulate")
	}
	if err := host.CheckBroadcast(a.Game, b.Delay, v.BroadcastDelay != nil, v.BroadcastPrivate); err != nil {
		return nil, err
	}
	if err := app.Writable(v.Broadcast); err != nil {
		return nil, fmt.Errorf("the broadcast cannot be written: %w; choose another --broadcast", err)
	}
	return b, nil
}

// lockBroadcast locks the directory of --broadcast for this server. It fails if another server has locked it. No room begins with a dot.
func (v *Verb) lockBroadcast() (unlock func() error, err error) {
	unlock, err = durable.Lock(filepath.Join(v.Broadcast, ".lock"))
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("--broadcast %s: another server writes into the directory: give each server its own (%w)", v.Broadcast, err)
	}
	return unlock, err
}

// handler serves the broadcasts in a directory beside pages, the pages of --web. pages may be nil.
func handler(pages http.Handler, dir string) http.Handler {
	if dir == "" {
		return pages
	}
	mux := http.NewServeMux()
	mux.Handle(broadcastPath, http.StripPrefix(broadcastPath, broadcast.Handler(dir)))
	if pages != nil {
		mux.Handle("/", pages)
	}
	return mux
}

// announceBroadcast prints the commands that watch the room main.
func (v *Verb) announceBroadcast(a *app.App) {
	if v.Broadcast == "" {
		return
	}
	address := app.Quoted(filepath.Join(v.Broadcast, "main"))
	fields := app.Fields{"directory": v.Broadcast}
	if v.listener != nil {
		site := "https://" + v.publicWeb()
		if v.listener.Plain() {
			site = "http://" + v.publicWeb()
		}
		address = site + broadcastPath + "main"
		fields["url"] = address
		if v.WebPages != "" {
			link := site + "/#watch=" + broadcastPath + "main"
			a.Print("watch in a browser at\n  " + link + "\n")
			fields["link"] = link
		}
	}
	a.Print("watch with\n  " + a.Program + " watch " + address + "\n")
	a.Emit("watch", fields)
}
