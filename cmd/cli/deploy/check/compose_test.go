package check

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// composition has the parts of a Compose file that ours uses.
type composition struct {
	Name     string             `json:"name"`
	NATS     service            `json:"x-nats"`
	Arena    service            `json:"x-arena"`
	Services map[string]service `json:"services"`
	Networks map[string]struct {
	} `json:"networks"`
	Volumes map[string]struct {
	} `json:"volumes"`
	Secrets map[string]struct {
		File string `json:"file"`
	} `json:"secrets"`
}

type service struct {
	Image           string   `json:"image"`
	Restart         string   `json:"restart"`
	StopGracePeriod string   `json:"stop_grace_period"`
	User            string   `json:"user"`
	ReadOnly        bool     `json:"read_only"`
	CapDrop         []string `json:"cap_drop"`
	SecurityOpt     []string `json:"security_opt"`
	Networks        []string `json:"networks"`
	Secrets         []string `json:"secrets"`
	DependsOn       []string `json:"depends_on"`
	Command         []string `json:"command"`
	Ports           []string `json:"ports"`
	Volumes         []string `json:"volumes"`
}

func TestTheCompositionHasAWholeCluster(t *testing.T) {
	text, err := os.ReadFile("../compose/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c composition
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for name, s := range c.Services {
		first := s.Command[0]
		count[first]++
		if s.Image == "" || s.Restart != "always" || len(s.Networks) != 1 {
			t.Errorf("%s lacks what its kind has: %+v", name, s)
		}
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s uses the secret %s, which no file has", name, secret)
			}
		}
		for _, needed := range s.DependsOn {
			if _, ok := c.Services[needed]; !ok {
				t.Errorf("%s depends on %s, which does not exist", name, needed)
			}
		}
		if first == "serve" && !strings.Contains(s.Command[4], strings.Split(s.Ports[0], ":")[0]) {
			t.Errorf("%s is reached at %s, and publishes %s", name, s.Command[4], s.Ports)
		}
		for _, v := range s.Volumes {
			if from, _, _ := strings.Cut(v, ":"); !strings.HasPrefix(from, "../nats/") && from != name {
				t.Errorf("%s has the volume %s", name, v)
			}
		}
	}
	if count["nats-server"] != 3 || count["serve"] != 3 || count["backend"] != 1 {
		t.Errorf("services: %v", count)
	}
}
