package moderate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/tokens"
)

// Port is the admin server of a running server.
type Port struct {
	Addr           string `arg:"" help:"Address of serve --admin, as host:port, or its link."`
	AdminTokenFile string `required:"" type:"path" placeholder:"FILE" help:"File with the token of the admin server."`
}

const requestTimeout = 15 * time.Second // longer than the server takes to respond

// request sends a request and decodes the response. content is the body of a POST; nil sends a GET. The error wraps
// app.ErrFailed if the server refused the request.
func (p *Port) request(a *app.App, path string, content, answer any) error {
	token, err := tokens.AdminFile(p.AdminTokenFile)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.Ctx, requestTimeout)
	defer cancel()
	c := admin.Client{Addr: p.Addr, Token: token}
	err = c.Do(ctx, path, content, answer)
	refused := (*admin.RefusedError)(nil)
	if !errors.As(err, &refused) {
		return err
	}
	// The server names its paths, for programs. The verb players is the same for a person.
	switch why := strings.ReplaceAll(app.Printable(refused.Text), "GET /players", app.Program()+" players"); refused.Status {
	case http.StatusNotFound, http.StatusConflict, http.StatusInsufficientStorage:
		return fmt.Errorf("%w: %s", app.ErrFailed, why)
	case http.StatusUnauthorized:
		return errors.New("the admin server refuses the token: give the file of serve --admin-token-file")
	default:
		return fmt.Errorf("the admin server refuses the request (%d): %s", refused.Status, why)
	}
}
