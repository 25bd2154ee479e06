package check

import (
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The types of Agones have the fields of its published API that the files may use, without those of its status.

type fleet struct {
	meta.TypeMeta `json:",inline"`
	Metadata      meta.ObjectMeta `json:"metadata"`
	Spec          struct {
		Replicas           int32     `json:"replicas"`
		Scheduling         string    `json:"scheduling"`
		Priorities         []ranking `json:"priorities"`
		AllocationOverflow *struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"allocationOverflow"`
		Strategy struct {
			Type          string `json:"type"`
			RollingUpdate *struct {
				MaxSurge       intstr.IntOrString `json:"maxSurge"`
				MaxUnavailable intstr.IntOrString `json:"maxUnavailable"`
			} `json:"rollingUpdate"`
		} `json:"strategy"`
		Template gameServer `json:"template"`
	} `json:"spec"`
}

type gameServer struct {
	Metadata meta.ObjectMeta `json:"metadata"`
	Spec     struct {
		Container string `json:"container"`
		Ports     []struct {
			Name          string `json:"name"`
			Range         string `json:"range"`
			PortPolicy    string `json:"portPolicy"`
			Container     string `json:"container"`
			ContainerPort int32  `json:"containerPort"`
			HostPort      int32  `json:"hostPort"`
			Protocol      string `json:"protocol"`
		} `json:"ports"`
		Health struct {
			Disabled            bool  `json:"disabled"`
			InitialDelaySeconds int32 `json:"initialDelaySeconds"`
			PeriodSeconds       int32 `json:"periodSeconds"`
			FailureThreshold    int32 `json:"failureThreshold"`
		} `json:"health"`
		Scheduling string `json:"scheduling"`
		SDKServer  struct {
			LogLevel string `json:"logLevel"`
			GRPCPort int32  `json:"grpcPort"`
			HTTPPort int32  `json:"httpPort"`
		} `json:"sdkServer"`
		Counters map[string]struct {
			Count    int64 `json:"count"`
			Capacity int64 `json:"capacity"`
		} `json:"counters"`
		Lists map[string]struct {
			Values   []string `json:"values"`
			Capacity int64    `json:"capacity"`
		} `json:"lists"`
		Eviction struct {
			Safe string `json:"safe"`
		} `json:"eviction"`
		Template core.PodTemplateSpec `json:"template"`
	} `json:"spec"`
}

// ranking is a priority of Agones.
type ranking struct {
	Type  string `json:"type"`
	Key   string `json:"key"`
	Order string `json:"order"`
}

type autoscaler struct {
	meta.TypeMeta `json:",inline"`
	Metadata      meta.ObjectMeta `json:"metadata"`
	Spec          struct {
		FleetName string `json:"fleetName"`
		Policy    struct {
			Type   string `json:"type"`
			Buffer *struct {
				MinReplicas int32              `json:"minReplicas"`
				MaxReplicas int32              `json:"maxReplicas"`
				BufferSize  intstr.IntOrString `json:"bufferSize"`
			} `json:"buffer"`
			Counter *aggregate `json:"counter"`
			List    *aggregate `json:"list"`
		} `json:"policy"`
		Sync *struct {
			Type          string `json:"type"`
			FixedInterval struct {
				Seconds int32 `json:"seconds"`
			} `json:"fixedInterval"`
		} `json:"sync"`
	} `json:"spec"`
}

// aggregate is the policy of an autoscaler about a counter or a list.
type aggregate struct {
	Key         string             `json:"key"`
	BufferSize  intstr.IntOrString `json:"bufferSize"`
	MinCapacity int64              `json:"minCapacity"`
	MaxCapacity int64              `json:"maxCapacity"`
}

type allocation struct {
	meta.TypeMeta `json:",inline"`
	Metadata      meta.ObjectMeta `json:"metadata"`
	Spec          struct {
		Priorities []ranking `json:"priorities"`
		Selectors  []struct {
			meta.LabelSelector `json:",inline"`
			GameServerState    string `json:"gameServerState"`
			Counters           map[string]struct {
				MinCount     int64 `json:"minCount"`
				MaxCount     int64 `json:"maxCount"`
				MinAvailable int64 `json:"minAvailable"`
				MaxAvailable int64 `json:"maxAvailable"`
			} `json:"counters"`
			Lists map[string]struct {
				ContainsValue string `json:"containsValue"`
				MinAvailable  int64  `json:"minAvailable"`
				MaxAvailable  int64  `json:"maxAvailable"`
			} `json:"lists"`
		} `json:"selectors"`
		Scheduling string `json:"scheduling"`
		Metadata   struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Counters map[string]struct {
			Action   string `json:"action"`
			Amount   int64  `json:"amount"`
			Capacity *int64 `json:"capacity"`
		} `json:"counters"`
		Lists map[string]struct {
			AddValues    []string `json:"addValues"`
			DeleteValues []string `json:"deleteValues"`
			Capacity     *int64   `json:"capacity"`
		} `json:"lists"`
	} `json:"spec"`
}
