// Asks the validation code of one release of Kubernetes whether it takes the CustomResourceDefinitions on standard input.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoder := yaml.NewYAMLOrJSONDecoder(os.Stdin, 4096)
	status := 0
	for {
		var definition v1.CustomResourceDefinition
		if err := decoder.Decode(&definition); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		scheme.Default(&definition)
		var internal apiextensions.CustomResourceDefinition
		if err := scheme.Convert(&definition, &internal, nil); err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		internal.Status.StoredVersions = []string{definition.Spec.Versions[0].Name}
		faults := validation.ValidateCustomResourceDefinition(context.Background(), &internal)
		if len(faults) == 0 {
			fmt.Printf("%s: taken\n", definition.Name)
			continue
		}
		status = 1
		for _, fault := range faults {
			fmt.Printf("%s: %s\n", definition.Name, fault.Error())
		}
	}
	os.Exit(status)
}
