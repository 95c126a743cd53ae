// Prints test vectors of Kubernetes' pod arithmetic, one JSON object a line: a random pod, and what
// k8s.io/component-helpers/resource makes of its requests and limits.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
)

var amounts = map[v1.ResourceName][]string{
	v1.ResourceCPU:              {"0", "1m", "250m", "0.5", "1", "2", "7500m"},
	v1.ResourceMemory:           {"0", "1", "64Mi", "1Gi", "1536Mi", "2G", "1e9"},
	v1.ResourceEphemeralStorage: {"1Gi", "10G"},
	"nvidia.com/gpu":            {"1", "2", "4"},
	"hugepages-2Mi":             {"2Mi", "64Mi"},
}

func list(r *rand.Rand, one_in int) v1.ResourceList {
	result := v1.ResourceList{}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, "nvidia.com/gpu", "hugepages-2Mi"} {
		if r.Intn(one_in) == 0 {
			result[name] = resource.MustParse(amounts[name][r.Intn(len(amounts[name]))])
		}
	}
	return result
}

func containers(r *rand.Rand, most int, init bool) []v1.Container {
	var result []v1.Container
	always := v1.ContainerRestartPolicyAlways
	for i := r.Intn(most + 1); i > 0; i-- {
		c := v1.Container{Name: fmt.Sprintf("c%d", i)}
		c.Resources.Requests, c.Resources.Limits = list(r, 2), list(r, 2)
		if init && r.Intn(3) == 0 {
			c.RestartPolicy = &always
		}
		result = append(result, c)
	}
	return result
}

func main() {
	count := flag.Int("n", 800, "vectors")
	seed := flag.Int64("seed", 1, "seed")
	flag.Parse()
	r := rand.New(rand.NewSource(*seed))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for i := 0; i < *count; i++ {
		pod := &v1.Pod{}
		pod.Spec.Containers = containers(r, 3, false)
		pod.Spec.InitContainers = containers(r, 4, true)
		if r.Intn(4) == 0 {
			pod.Spec.Overhead = list(r, 2)
		}
		if r.Intn(4) == 0 {
			pod.Spec.Resources = &v1.ResourceRequirements{Requests: list(r, 2), Limits: list(r, 2)}
		}
		line, err := json.Marshal(map[string]any{
			"spec":     map[string]any{"containers": pod.Spec.Containers, "initContainers": pod.Spec.InitContainers, "overhead": pod.Spec.Overhead, "resources": pod.Spec.Resources},
			"requests": helpers.PodRequests(pod, helpers.PodResourcesOptions{}),
			"limits":   helpers.PodLimits(pod, helpers.PodResourcesOptions{}),
		})
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(out, "%s\n", line)
	}
}
