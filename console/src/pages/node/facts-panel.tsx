/** What a node's agent says of its machine: the machine in a few lines, then what there are many of. */

import Container from "@cloudscape-design/components/container";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { JsonObject, Schemas } from "../../api/contract.ts";
import { JsonView } from "../../widgets/json-view.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { sentence } from "../../widgets/words.ts";
import { FactTable, type Field } from "./fact-table.tsx";
import {
  isKnownForm,
  linksOf,
  restOf,
  rowsOf,
  sectionOf,
  size,
  speed,
  summaryOf,
  withoutGpus,
} from "./facts.ts";

export function FactsPanel({ facts }: { readonly facts: Schemas["NodeFacts"] }) {
  const said: unknown = facts.facts;
  return (
    <Container
      header={
        <Header
          variant="h2"
          description={
            <>
              Said by the agent <Moment at={facts.reported_at} />.
            </>
          }
        >
          Facts
        </Header>
      }
    >
      {isKnownForm(said) ? <Readable facts={said} /> : <JsonView value={said} />}
    </Container>
  );
}

function Readable({ facts }: { readonly facts: JsonObject }) {
  const { disks, filesystems } = sectionOf(facts, "storage");
  return (
    <SpaceBetween size="l">
      <KeyValuePairs
        columns={4}
        items={summaryOf(facts).map(({ label, lines }) => ({ label, value: <Lines of={lines} /> }))}
      />
      <Gpus facts={facts} />
      <FactTable name="disks" title="Disks" rows={rowsOf(disks)} fields={DISK} />
      <FactTable
        name="filesystems"
        title="Filesystems"
        rows={rowsOf(filesystems)}
        fields={FILESYSTEM}
      />
      <FactTable
        name="interfaces"
        title="Network"
        rows={rowsOf(sectionOf(facts, "network").interfaces)}
        fields={INTERFACE}
      />
      <Activity facts={facts} />
      <Rest facts={facts} />
    </SpaceBetween>
  );
}

function Lines({ of }: { readonly of: readonly string[] }) {
  if (of.length === 0) return <>–</>;
  return of.map((line) => (
    <div key={line} className="wrap-anywhere">
      {line}
    </div>
  ));
}

function Gpus({ facts }: { readonly facts: JsonObject }) {
  const gpus = sectionOf(facts, "gpus");
  const devices = rowsOf(gpus.devices);
  const links = linksOf(gpus.topology);
  return (
    <SpaceBetween size="l">
      <FactTable
        name="gpus"
        title="GPUs"
        description={typeof gpus.driver === "string" ? `Driver ${gpus.driver}` : ""}
        rows={devices}
        fields={GPU}
        instead={withoutGpus(facts)}
      />
      {links.length > 0 && (
        <FactTable name="links" title="Links between GPUs" rows={links} fields={LINK} />
      )}
      {devices !== null && devices.length > 0 && (
        <FactTable
          name="gpu-processes"
          title="Processes on GPUs"
          rows={rowsOf(gpus.processes)}
          fields={GPU_PROCESS}
        />
      )}
    </SpaceBetween>
  );
}

/** What already runs there: what somebody put there stands before what every system has. */
function Activity({ facts }: { readonly facts: JsonObject }) {
  const { services, listeners } = sectionOf(facts, "activity");
  return (
    <ExpandableSection headerText="What runs on it">
      <SpaceBetween size="l">
        <FactTable
          name="services"
          title="Services"
          rows={rowsOf(services)}
          fields={SERVICE}
          sortedBy="base"
        />
        <FactTable
          name="listeners"
          title="Ports that are listened on"
          rows={rowsOf(listeners)}
          fields={LISTENER}
          sortedBy="port"
        />
      </SpaceBetween>
    </ExpandableSection>
  );
}

function Rest({ facts }: { readonly facts: JsonObject }) {
  const unread = rowsOf(facts.unknown) ?? [];
  const rest = restOf(facts);
  return (
    <SpaceBetween size="s">
      {unread.length > 0 && (
        <ExpandableSection headerText={`What could not be read (${unread.length})`}>
          <FactTable name="unread" title="Not known" rows={unread} fields={UNREAD} />
        </ExpandableSection>
      )}
      {Object.keys(rest).length > 0 && (
        <ExpandableSection headerText="What else it says" defaultExpanded>
          <JsonView value={rest} />
        </ExpandableSection>
      )}
    </SpaceBetween>
  );
}

const GPU: readonly Field[] = [
  { field: "index", header: "GPU" },
  { field: "name", header: "Model" },
  { field: "memory", header: "Memory", text: size },
  { field: "vendor", header: "Vendor" },
  { field: "bus_id", header: "PCI address" },
  { field: "numa_node", header: "NUMA node" },
  { field: "mig", header: "MIG", text: (mode) => sentence(String(mode)) },
  { field: "device_file", header: "Device file" },
  { field: "uuid", header: "UUID" },
];

const LINK: readonly Field[] = [
  { field: "device", header: "From" },
  { field: "cpu_affinity", header: "Threads near it" },
  { field: "numa_affinity", header: "NUMA node" },
];

const GPU_PROCESS: readonly Field[] = [
  { field: "name", header: "Process" },
  { field: "pid", header: "Process id" },
  { field: "gpu_uuid", header: "GPU" },
  { field: "memory", header: "Memory", text: size },
];

const DISK: readonly Field[] = [
  { field: "name", header: "Disk" },
  { field: "size", header: "Size", text: size },
  {
    field: "rotational",
    header: "Kind",
    text: (turns) => (turns === true ? "Rotating" : "Not rotating"),
  },
  { field: "model", header: "Model" },
];

const FILESYSTEM: readonly Field[] = [
  { field: "path", header: "Mounted at" },
  { field: "total", header: "Size", text: size },
  { field: "available", header: "Available", text: size },
  { field: "kind", header: "Kind" },
  { field: "source", header: "From" },
  { field: "networked", header: "Over the network", text: yes },
  { field: "read_only", header: "Read only", text: yes },
];

const INTERFACE: readonly Field[] = [
  { field: "name", header: "Interface" },
  { field: "state", header: "State", text: (state) => sentence(String(state)) },
  { field: "addresses", header: "Addresses" },
  { field: "speed_mbit", header: "Speed", text: speed },
  { field: "mtu", header: "MTU" },
  { field: "mac", header: "MAC" },
];

const SERVICE: readonly Field[] = [
  { field: "unit", header: "Service" },
  { field: "description", header: "Description" },
  {
    field: "base",
    header: "Whose",
    text: (base) => (base === true ? "The system's or the platform's" : "Somebody's"),
  },
];

const LISTENER: readonly Field[] = [
  { field: "port", header: "Port" },
  { field: "protocol", header: "Protocol" },
  { field: "address", header: "Address" },
  { field: "process", header: "Process" },
  { field: "pid", header: "Process id" },
  { field: "uid", header: "User id" },
];

const UNREAD: readonly Field[] = [
  { field: "fact", header: "Fact" },
  { field: "source", header: "Looked for in" },
  { field: "reason", header: "Why not" },
];

function yes(value: unknown): string {
  return value === true ? "Yes" : "No";
}
