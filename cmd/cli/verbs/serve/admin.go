package serve

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/page"
	"tendon/systems"
)

type adminFlags struct {
	Admin          string   `placeholder:"ADDR" help:"Serve metrics, profiles, health and a live page at this address, as host:port, such as 127.0.0.1:9090. A host other than loopback requires a token. With a token, every request needs it, also on loopback. Default: none."`
	AdminToken     string   `help:"The token of --admin, 16 characters or more. Other users of this machine may see it; --admin-token-file is better."`
	AdminTokenFile string   `type:"path" help:"A file with the token of --admin."`
	AdminHost      []string `help:"A further host name of --admin, for a proxy; may be given several times."`
}

// startAdmin starts the admin server; end ends it. Without --admin the server is nil.
func (f *adminFlags) startAdmin(a *app.App, strategy systems.Strategy) (s *admin.Server, end func() error, err error) {
	if f.Admin == "" {
		if f.AdminToken != "" || f.AdminTokenFile != "" || len(f.AdminHost) > 0 {
			return nil, nil, errors.New("--admin-token, --admin-token-file and --admin-host go with --admin: add an address, such as --admin 127.0.0.1:9090")
		}
		return nil, func() error { return nil }, nil
	}
	token, err := f.token()
	if err != nil {
		return nil, nil, err
	}
	s, err = admin.New(admin.Config{Game: a.Game, Strategy: strategy.Name, Build: app.Build(),
		Page: page.Config{Addr: f.Admin, Token: token, Hosts: f.AdminHost}})
	switch {
	case errors.Is(err, page.ErrConfig) && token == "" && page.Reachable(f.Admin):
		return nil, nil, fmt.Errorf("--admin %s can be reached from other machines: add --admin-token-file with a file that holds a token, or listen on 127.0.0.1", f.Admin)
	case errors.Is(err, page.ErrConfig):
		return nil, nil, fmt.Errorf("--admin: %w", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, nil, fmt.Errorf("--admin %s is in use: choose another port", f.Admin)
	case err != nil:
		return nil, nil, fmt.Errorf("--admin %s cannot be listened on: %w", f.Admin, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	a.Logf("watch it at %s", s.URL())
	a.Emit("admin", app.Fields{"url": s.URL()})
	return s, func() error { cancel(); return <-ended }, nil
}

// token returns the token of the flags, or "".
func (f *adminFlags) token() (string, error) {
	if f.AdminTokenFile == "" {
		return f.AdminToken, nil
	}
	if f.AdminToken != "" {
		return "", errors.New("--admin-token and --admin-token-file are both given: give one of them")
	}
	return tokens.AdminFile(f.AdminTokenFile)
}
