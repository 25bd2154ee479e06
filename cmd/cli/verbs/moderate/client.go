package moderate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/tokens"
)

// Port is the admin server of a running server.
type Port struct {
	Addr           string `arg:"" help:"Address of serve --admin, as host:port, or its link."`
	AdminTokenFile string `required:"" type:"path" placeholder:"FILE" help:"File with the token of the admin server."`
}

const (
	requestTimeout = 15 * time.Second // longer than the server takes to respond
	answerLimit    = 64 << 20         // bytes: more than the players of 500 rooms
)

// url returns the address of a path.
func (p *Port) url(path string) (string, error) {
	text := p.Addr
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Port() == "" && u.Scheme != "https" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("%.80q is not the address of an admin server: give host:port, such as 127.0.0.1:9090", p.Addr)
	}
	return u.Scheme + "://" + u.Host + path, nil
}

// request sends a request and decodes the response. content is the body of a POST; nil sends a GET. The error wraps
// app.ErrFailed if the server refused the request.
func (p *Port) request(a *app.App, path string, content, answer any) error {
	to, err := p.url(path)
	if err != nil {
		return err
	}
	token, err := tokens.AdminFile(p.AdminTokenFile)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.Ctx, requestTimeout)
	defer cancel()
	method, body := http.MethodGet, []byte(nil)
	if content != nil {
		method = http.MethodPost
		if body, err = json.Marshal(content); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	// The token must not reach another server by a redirect.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("the admin server does not respond: %w; check the address, and that serve runs with --admin", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return fmt.Errorf("the response of the admin server is not complete: %w; try again", err)
	}
	if response.StatusCode != http.StatusOK {
		return refusal(response.StatusCode, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s is not an admin server of this version: %w; check the address and the version", p.Addr, err)
	}
	return nil
}

// refusal returns the error of a response that is not OK.
func refusal(status int, text []byte) error {
	var answer struct {
		Error string `json:"error"`
	}
	line := strings.TrimSpace(string(text))
	switch {
	case json.Unmarshal(text, &answer) == nil && answer.Error != "":
	case line != "" && len(line) <= 200 && !strings.ContainsAny(line, "\n<"): // a sentence of the page server, and no page of a proxy
		answer.Error = line
	default:
		answer.Error = http.StatusText(status)
	}
	// The server names its paths, for programs. The verb players is the same for a person.
	switch why := strings.ReplaceAll(app.Printable(answer.Error), "GET /players", app.Program()+" players"); status {
	case http.StatusNotFound, http.StatusConflict, http.StatusInsufficientStorage:
		return fmt.Errorf("%w: %s", app.ErrFailed, why)
	case http.StatusUnauthorized:
		return errors.New("the admin server refuses the token: give the file of serve --admin-token-file")
	default:
		return fmt.Errorf("the admin server refuses the request (%d): %s", status, why)
	}
}
