package serve

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/journals"
	"tendon/net/server"
)

// journalFlags select the journals and what a stop does with matches.
type journalFlags struct {
	Journal    string         `type:"path" help:"Keep a journal of every match in this directory. The next server resumes these matches."`
	Fsync      journals.Sync  `default:"100ms" help:"Journal data that a power cut may lose. always: none that a client received. 1ms to 10s: the data of that time. never: all data that the system had not written."`
	Quarantine bool           `default:"true" help:"Move a journal that cannot be recovered into the folder quarantine of --journal, and resume the other matches. --quarantine=false: such a journal stops the start."`
	OnStop     *server.OnStop `placeholder:"keep|finish|end" help:"Running matches when the server is stopped. keep: they continue in the next server, with --journal or --cluster. finish: the server ends after them. end: they end. Default: keep with one of these flags, else end."`
	OtherBuild string         `enum:"stop,refuse,change" default:"stop" help:"Journals of another build. stop: if this build computes other states and no journal is of this build, the server does not start. refuse: it starts, refuses the clients of these rooms, and leaves the files. change: the matches continue with the rules of this build."`
}

// onStop checks the flags, and returns what a stop does with running matches.
func (f *journalFlags) onStop(clustered bool) (server.OnStop, error) {
	kept := f.Journal != "" || clustered
	switch {
	case !kept && f.Fsync != journals.Sync(100*time.Millisecond):
		return 0, fmt.Errorf("--fsync %v is for --journal: name a directory with --journal, or leave --fsync out", f.Fsync)
	case f.Journal == "" && !f.Quarantine:
		return 0, errors.New("--quarantine is for --journal: name a directory with --journal, or leave --quarantine out")
	case !kept && f.OtherBuild != "stop":
		return 0, errors.New("--other-build is for --journal: name a directory with --journal, or leave --other-build out")
	case f.OnStop == nil && kept:
		return server.Keep, nil
	case f.OnStop == nil:
		return server.End, nil
	case !kept && *f.OnStop == server.Keep:
		return 0, errors.New("--on-stop keep is for --journal: name a directory with --journal, or choose finish or end")
	}
	return *f.OnStop, nil
}

// stop stops the server. While the matches finish, it prints statistics, and a signal ends the matches.
func (v *Verb) stop(a *app.App, h *host.Host, how server.OnStop) error {
	keeps, place := "the next server with this --journal continues the matches; clients wait for it", app.Quoted(v.Journal)
	switch {
	case v.Embedded():
		keeps, place = "the next server with this --cluster-dir continues the matches; clients wait for it", app.Quoted(v.ClusterDir)
	case v.Cluster != "":
		keeps, place = "the matches move to the other servers of the cluster", "the cluster"
	}
	a.Logf("stopping: %s", [...]string{server.End: "closing connections", server.Keep: keeps,
		server.Finish: "no more rooms and players; the server ends after the last match, or when it is interrupted again"}[how])
	a.Emit("stopping", app.Fields{"on_stop": how.String()})
	if how == server.Keep && v.Cluster != "" && !v.Embedded() {
		v.moveAll(a, h)
	}
	if how == server.Finish {
		return v.finish(a, h)
	}
	err := h.Stop()
	if how == server.Keep {
		if h.Kept() > 0 || v.Cluster == "" {
			a.Logf("%s kept in %s", app.Counted(h.Kept(), "match is", "matches are"), place)
		}
		a.Emit("kept", app.Fields{"matches": h.Kept()})
	}
	return err
}

// finish stops the server after its last match. See stop.
func (v *Verb) finish(a *app.App, h *host.Host) error {
	again, end := signal.NotifyContext(context.Background(), app.EndSignals...)
	defer end()
	context.AfterFunc(again, h.End)
	running, ended := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		stopped <- h.Stop()
		ended()
	}()
	err := v.report(running, a, h)
	return errors.Join(err, <-stopped)
}
