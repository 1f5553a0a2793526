package deploy

import (
	"maps"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// load reads a manifest of one object, which may have the fields of its kind and no others.
func load[T any](t *testing.T, name string) *T {
	t.Helper()
	text, err := os.ReadFile("kubernetes/" + name)
	if err != nil {
		t.Fatal(err)
	}
	object := new(T)
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}

// TestKubernetes: the manifests are of Kubernetes' types, and fit each other.
func TestKubernetes(t *testing.T) {
	set, service := load[appsv1.StatefulSet](t, "statefulset.yml"), load[corev1.Service](t, "service.yml")
	options, policy := load[corev1.ConfigMap](t, "config.yml"), load[networkingv1.NetworkPolicy](t, "networkpolicy.yml")
	pod := set.Spec.Template
	for what, selector := range map[string]map[string]string{
		"StatefulSet": set.Spec.Selector.MatchLabels, "Service": service.Spec.Selector, "NetworkPolicy": policy.Spec.PodSelector.MatchLabels,
	} {
		if len(selector) == 0 || !maps.Equal(selector, pod.Labels) {
			t.Errorf("%s selects %v, the pod has %v", what, selector, pod.Labels)
		}
	}
	if set.Spec.ServiceName != service.Name {
		t.Errorf("the set's service is %s, want %s", set.Spec.ServiceName, service.Name)
	}

	c := pod.Spec.Containers[0]
	port := c.Ports[0].Name
	for what, got := range map[string]string{
		"Service":        service.Spec.Ports[0].TargetPort.StrVal,
		"NetworkPolicy":  policy.Spec.Ingress[0].Ports[0].Port.StrVal,
		"startupProbe":   c.StartupProbe.HTTPGet.Port.StrVal,
		"readinessProbe": c.ReadinessProbe.HTTPGet.Port.StrVal,
		"livenessProbe":  c.LivenessProbe.HTTPGet.Port.StrVal,
	} {
		if got != port {
			t.Errorf("%s goes to port %q, the container has %q", what, got, port)
		}
	}
	if s := c.SecurityContext; !*pod.Spec.SecurityContext.RunAsNonRoot || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the container may do too much: %+v", s)
	}

	volumes := []string{set.Spec.VolumeClaimTemplates[0].Name}
	for _, v := range pod.Spec.Volumes {
		volumes = append(volumes, v.Name)
		if v.ConfigMap != nil && v.ConfigMap.Name != options.Name {
			t.Errorf("the pod mounts %s, the options are in %s", v.ConfigMap.Name, options.Name)
		}
	}
	for _, m := range c.VolumeMounts {
		if !slices.Contains(volumes, m.Name) {
			t.Errorf("there is no volume %s", m.Name)
		}
	}
}
