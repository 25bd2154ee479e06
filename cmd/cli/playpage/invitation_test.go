package playpage

import (
	"reflect"
	"strings"
	"testing"

	"tendon/net/netcode"
	"tendon/net/web"
)

// An invitation survives the way through a link. The zeros of a token take no room in it.
func TestAnInvitationIsReadBack(t *testing.T) {
	i := Invitation{Token: make([]byte, netcode.TokenSize), URLs: []string{"https://a.example/tendon"}, Hashes: [][]byte{make([]byte, len(web.Hash{}))}, Bot: true}
	text := i.Text()
	if back, err := ParseInvitation(text); err != nil || !reflect.DeepEqual(back, i) || len(text) > 300 {
		t.Errorf("%d characters, %+v, %v", len(text), back, err)
	}
}

// A link that is cut, too long or of other sizes is refused with a sentence.
func TestABrokenInvitationIsRefused(t *testing.T) {
	whole := Invitation{Token: make([]byte, netcode.TokenSize), URLs: []string{"https://a.example/tendon"}}
	short, hash := whole, whole
	short.Token = short.Token[1:]
	hash.Hashes = [][]byte{{1}}
	large := whole
	large.URLs = []string{strings.Repeat("a", 2*maxInvitation)}
	for _, text := range []string{"", "%", whole.Text()[:20], short.Text(), hash.Text(), large.Text(), strings.Repeat("A", maxInvitation+1)} {
		if _, err := ParseInvitation(text); err == nil || !strings.Contains(err.Error(), "link") {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

func FuzzParseInvitation(f *testing.F) {
	f.Add((&Invitation{Token: make([]byte, netcode.TokenSize), URLs: []string{"https://a.example/tendon"}}).Text())
	f.Fuzz(func(t *testing.T, text string) {
		if i, err := ParseInvitation(text); err == nil {
			if again, err := ParseInvitation(i.Text()); err != nil || again.Text() != i.Text() {
				t.Errorf("%+v, then %+v (%v)", i, again, err)
			}
		}
	})
}
