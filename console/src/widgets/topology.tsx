/** The picture of an instance: its members as boxes, a column for each component, the machines they sit on,
 * and the lines the app draws between them. What cannot be asked is marked, not left out.
 *
 * The members' table says the same in words; the picture is hidden from screen readers but for its
 * boxes, which are links with a full label. */

import "@xyflow/react/dist/base.css";
import {
  Background,
  Controls,
  type Edge,
  Handle,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from "@xyflow/react";
import type { Manifest, Member } from "../api/contract.ts";
import { componentTitle } from "../manifest/placement.ts";
import type { PanelScene } from "./panel.tsx";
import { isUnreachable, Status } from "./status.tsx";
import { sentence } from "./words.ts";

interface TopologyProps {
  readonly scene: PanelScene;
  readonly edges: readonly { source: string; target: string; label?: string }[];
}

interface BoxData extends Record<string, unknown> {
  readonly member: Member;
  readonly title: string;
  readonly machine: string;
}

type BoxNode = Node<BoxData, "member">;

const WIDTH = 220;
const HEIGHT = 104;
const GAP_X = 120;
const GAP_Y = 24;
const ROWS = 8;
const MOST = 120;
const NODE_TYPES = { member: MemberBox };

export function Topology({ scene, edges }: TopologyProps) {
  const members = scene.members.filter(({ status }) => status !== "removed");
  const shown = members.slice(0, MOST);
  const nodes = placed(shown, scene);
  const height = Math.min(
    520,
    Math.max(...nodes.map(({ position }) => position.y), 0) + HEIGHT + 60,
  );
  return (
    <>
      <div
        className="topology"
        style={{ height }}
        role="img"
        aria-label={summary(members, scene.manifest)}
      >
        <ReactFlow
          nodes={nodes}
          edges={lines(shown, edges)}
          nodeTypes={NODE_TYPES}
          fitView
          fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
          minZoom={0.2}
          maxZoom={1.5}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          zoomOnScroll={false}
          preventScrolling={false}
          proOptions={{ hideAttribution: true }}
        >
          <Background />
          {shown.length > ROWS && <Controls showInteractive={false} />}
        </ReactFlow>
      </div>
      {members.length > MOST && (
        <div>
          The first {MOST} of {members.length} members are drawn; the table of members has all.
        </div>
      )}
    </>
  );
}

function MemberBox({ data }: NodeProps<BoxNode>) {
  const { member, title, machine } = data;
  const silent = isUnreachable(member.conditions) || member.health === "unreachable";
  return (
    <div className={silent ? "topology-box topology-silent" : "topology-box"}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <b>{title}</b>
      <div className="topology-machine" title={machine}>
        {machine}
      </div>
      <Status word={member.status} />
      {silent && <Status word="unreachable" />}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

/** A column for each component in the manifest's order; many members take several columns. */
function placed(members: readonly Member[], { manifest, allocationName }: PanelScene): BoxNode[] {
  const known = manifest.components.map(({ key }) => key);
  const others = members
    .map(({ component_key }) => component_key)
    .filter((key) => !known.includes(key));
  let column = 0;
  return [...known, ...new Set(others)].flatMap((key) => {
    const mine = members.filter(({ component_key }) => component_key === key);
    const first = column;
    column += Math.ceil(mine.length / ROWS);
    return mine.map(
      (member, at): BoxNode => ({
        id: member.id,
        type: "member",
        width: WIDTH,
        height: HEIGHT,
        position: {
          x: (first + Math.floor(at / ROWS)) * (WIDTH + GAP_X),
          y: (at % ROWS) * (HEIGHT + GAP_Y),
        },
        data: {
          member,
          title: componentTitle(manifest, key),
          machine: member.node || allocationName(member.allocation_id),
        },
      }),
    );
  });
}

function lines(members: readonly Member[], edges: TopologyProps["edges"]): Edge[] {
  return edges.flatMap(({ source, target, label = "" }) =>
    members
      .filter(({ component_key }) => component_key === source)
      .flatMap((from) =>
        members
          .filter((to) => to.component_key === target && to.id !== from.id)
          .map((to) => ({
            id: `${from.id}-${to.id}`,
            source: from.id,
            target: to.id,
            label,
            animated: isUnreachable(to.conditions) || isUnreachable(from.conditions),
          })),
      ),
  );
}

function summary(members: readonly Member[], manifest: Manifest): string {
  const parts = members.map(
    ({ component_key, status, conditions }) =>
      `${componentTitle(manifest, component_key)}: ${sentence(status)}${isUnreachable(conditions) ? ", unreachable" : ""}`,
  );
  return `Topology. ${parts.join("; ")}`;
}
