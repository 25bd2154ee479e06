package check

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	network "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kinds has an empty object of each kind that the files may contain.
var kinds = map[string]func() any{
	"v1 ConfigMap":                                  func() any { return new(core.ConfigMap) },
	"v1 Service":                                    func() any { return new(core.Service) },
	"apps/v1 StatefulSet":                           func() any { return new(apps.StatefulSet) },
	"apps/v1 Deployment":                            func() any { return new(apps.Deployment) },
	"policy/v1 PodDisruptionBudget":                 func() any { return new(policy.PodDisruptionBudget) },
	"networking.k8s.io/v1 NetworkPolicy":            func() any { return new(network.NetworkPolicy) },
	"agones.dev/v1 Fleet":                           func() any { return new(fleet) },
	"autoscaling.agones.dev/v1 FleetAutoscaler":     func() any { return new(autoscaler) },
	"allocation.agones.dev/v1 GameServerAllocation": func() any { return new(allocation) },
}

// decode decodes one object strictly.
func decode(text []byte) (any, error) {
	var m meta.TypeMeta
	if err := yaml.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	make := kinds[m.APIVersion+" "+m.Kind]
	if make == nil {
		return nil, os.ErrInvalid
	}
	object := make()
	return object, yaml.UnmarshalStrict(text, object)
}

// objects decodes all objects of the files.
func objects(t *testing.T) (list []any) {
	t.Helper()
	paths, err := filepath.Glob("../kubernetes/*.yaml")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range bytes.Split(text, []byte("\n---\n")) {
			object, err := decode(append(part[:len(part):len(part)], '\n'))
			if err != nil {
				t.Errorf("%s: object %d: %v", path, i+1, err)
				continue
			}
			list = append(list, object)
		}
	}
	return list
}

// of returns the objects of a type, at least one.
func of[T any](t *testing.T) (list []*T) {
	t.Helper()
	for _, o := range objects(t) {
		if o, ok := o.(*T); ok {
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		t.Fatalf("no %T", *new(T))
	}
	return list
}

func TestEveryFieldOfTheFilesExists(t *testing.T) {
	if n := len(objects(t)); n < 10 {
		t.Errorf("%d objects were found: the test reads the wrong files", n)
	}
}

// A field that does not exist must not pass, in any kind and at any depth.
func TestAFieldThatDoesNotExistIsRefused(t *testing.T) {
	for _, text := range []string{
		"apiVersion: apps/v1\nkind: Deployment\nspec: {replica: 1}",
		"apiVersion: agones.dev/v1\nkind: Fleet\nspec: {template: {spec: {counters: {rooms: {counts: 1}}}}}",
		"apiVersion: agones.dev/v1\nkind: Fleet\nspec: {template: {spec: {template: {spec: {container: []}}}}}",
		"apiVersion: autoscaling.agones.dev/v1\nkind: FleetAutoscaler\nspec: {policy: {counter: {buffer: 1}}}",
		"apiVersion: allocation.agones.dev/v1\nkind: GameServerAllocation\nspec: {counters: {rooms: {increment: 1}}}",
		"apiVersion: allocation.agones.dev/v1\nkind: GameServerAllocation\nspec: {selectors: [{matchLabel: {}}]}",
		"apiVersion: agones.dev/v2\nkind: Fleet",
	} {
		if _, err := decode([]byte(text)); err == nil {
			t.Errorf("accepted:\n%s", text)
		}
	}
}

// The capacity of the counter is the flag --max-rooms, and Agones, the autoscaler and the allocation use the same names.
func TestThePartsOfTheFleetAgree(t *testing.T) {
	f, a, g := of[fleet](t)[0], of[autoscaler](t)[0], of[allocation](t)[0]
	server := f.Spec.Template.Spec
	args := server.Template.Spec.Containers[0].Args
	if i := slices.Index(args, "--max-rooms"); i < 0 || args[i+1] != "50" || server.Counters["rooms"].Capacity != 50 {
		t.Errorf("capacity %d, args %q", server.Counters["rooms"].Capacity, args)
	}
	if i := slices.Index(args, "--admin"); i < 0 || args[i+1] != "$(POD_IP):9090" || server.Template.Spec.Containers[0].Env[0].Name != "POD_IP" {
		t.Errorf("the backend cannot reach the servers: %q", args)
	}
	policies := of[network.NetworkPolicy](t)
	i := slices.IndexFunc(policies, func(p *network.NetworkPolicy) bool { return p.Name == f.Metadata.Name })
	if from := policies[i].Spec.Ingress[1]; from.Ports[0].Port.IntValue() != 9090 || from.From[0].PodSelector.MatchLabels["app"] != "arena-backend" {
		t.Errorf("the network policy admits %+v to the admin server", from)
	}
	if _, ok := server.Lists["players"]; !ok || server.Lists["players"].Capacity > 1000 {
		t.Errorf("lists %+v", server.Lists)
	}
	if server.Ports[0].ContainerPort != 7777 || server.Ports[0].Protocol != "UDP" || server.Ports[0].PortPolicy != "Dynamic" {
		t.Errorf("ports %+v", server.Ports)
	}
	if c := a.Spec.Policy.Counter; a.Spec.FleetName != f.Metadata.Name || a.Spec.Policy.Type != "Counter" || c == nil || c.Key != "rooms" || c.MinCapacity < int64(c.BufferSize.IntValue()) {
		t.Errorf("autoscaler %+v", a.Spec)
	}
	if len(g.Spec.Selectors) != 2 || g.Spec.Selectors[0].GameServerState != "Allocated" || g.Spec.Selectors[1].GameServerState != "Ready" || g.Spec.Scheduling != "Packed" {
		t.Errorf("selectors %+v", g.Spec.Selectors)
	}
	for _, s := range g.Spec.Selectors {
		if s.MatchLabels["agones.dev/fleet"] != f.Metadata.Name || s.Counters["rooms"].MinAvailable != 1 {
			t.Errorf("selector %+v", s)
		}
	}
	if c := g.Spec.Counters["rooms"]; c.Action != "Increment" || c.Amount != 1 {
		t.Errorf("action %+v", c)
	}
	for _, p := range append(f.Spec.Priorities, g.Spec.Priorities...) {
		if p.Type != "Counter" || p.Key != "rooms" || p.Order != "Ascending" && p.Order != "Descending" {
			t.Errorf("priority %+v", p)
		}
	}
}

// Values that Kubernetes and Agones check beyond the names of fields.
func TestSelectorsFitTheirTemplates(t *testing.T) {
	for _, s := range of[apps.StatefulSet](t) {
		if s.Spec.Selector.MatchLabels["app"] != s.Spec.Template.Labels["app"] || *s.Spec.Replicas != 3 || s.Spec.ServiceName != s.Name {
			t.Errorf("%s: %+v", s.Name, s.Spec.Selector)
		}
		for _, c := range s.Spec.Template.Spec.Containers {
			i := slices.Index(c.Args, "--routes")
			if i < 0 || strings.Count(c.Args[i+1], "nats://"+s.Name+"-") != 3 {
				t.Errorf("%s: %q names other servers", s.Name, c.Args)
			}
		}
	}
	for _, d := range of[apps.Deployment](t) {
		if d.Spec.Selector.MatchLabels["app"] != d.Spec.Template.Labels["app"] {
			t.Errorf("%s: %+v", d.Name, d.Spec.Selector)
		}
	}
	labels := []string{"arena", "arena-backend", "nats"}
	for _, n := range of[network.NetworkPolicy](t) {
		if !slices.Contains(labels, n.Spec.PodSelector.MatchLabels["app"]) {
			t.Errorf("%s is about no pods: %+v", n.Name, n.Spec.PodSelector)
		}
	}
	for _, s := range of[core.Service](t) {
		if !slices.Contains(labels, s.Spec.Selector["app"]) {
			t.Errorf("%s is about no pods: %+v", s.Name, s.Spec.Selector)
		}
	}
}

// The files of Kubernetes, of systemd and of compose have one configuration of NATS.
func TestTheConfigurationOfNATSIsTheSharedFile(t *testing.T) {
	want, err := os.ReadFile("../nats/nats-server.conf")
	if err != nil {
		t.Fatal(err)
	}
	if got := of[core.ConfigMap](t)[0].Data["nats-server.conf"]; got != string(want) {
		t.Errorf("the ConfigMap differs from nats/nats-server.conf:\n%s", got)
	}
}
