package page

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The duration of a comparison must not depend on the token. A noisy machine cannot measure that, so the test reads the
// source: only same compares with the token, in constant time over digests of one length.
func TestTokensAreComparedInConstantTimeOnly(t *testing.T) {
	uses := regexp.MustCompile(`.*\.(Token|cookieValue\(\))`)
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") || e.Name() == "config.go" {
			continue
		}
		text, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if !uses.MatchString(line) || strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			found++
			empty := strings.Contains(line, `Token == ""`) || strings.Contains(line, `Token != ""`)
			if strings.Contains(line, "same(") || empty || strings.Contains(line, "hmac.New(") || strings.Contains(line, "QueryEscape(") || strings.Contains(line, "Value: s.cookieValue()") {
				continue
			}
			t.Errorf("%s:%d: %s: compare with same", e.Name(), i+1, strings.TrimSpace(line))
		}
		if e.Name() == "token.go" && strings.Count(string(text), "subtle.ConstantTimeCompare(x[:], y[:]) == 1") != 1 {
			t.Error("same does not compare whole digests in constant time")
		}
	}
	if found < 6 {
		t.Errorf("the token is used in %d places only: the test looks at the wrong ones", found)
	}
}

// Every character of a token counts.
func TestNoOtherTokenPasses(t *testing.T) {
	for i := range 10000 {
		if same(fmt.Sprintf("token-number-%d", i), "token-number-4711") != (i == 4711) {
			t.Fatalf("token %d passes for token 4711, or that for none", i)
		}
	}
}
