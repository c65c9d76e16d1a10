/** The picture of an instance: its members as boxes, a column for each component, the machines they sit on,
 * and the lines the app draws between them. What cannot be asked is marked, not left out. Fetched by
 * panel.tsx when a picture is wanted, and said there in words. */

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
  useReactFlow,
  useStore,
} from "@xyflow/react";
import { useEffect } from "react";
import type { Member } from "../api/contract.ts";
import { componentTitle } from "../manifest/placement.ts";
import type { PanelScene } from "./panel.tsx";
import { isUnreachable, Status } from "./status.tsx";
import { BOX, type PlacedMember, ROWS } from "./topology-layout.ts";

interface TopologyProps {
  readonly scene: PanelScene;
  readonly boxes: readonly PlacedMember[];
  readonly edges: readonly { source: string; target: string; label?: string }[];
  /** Drawn as a tree, from above to below. */
  readonly narrow: boolean;
}

interface BoxData extends Record<string, unknown> {
  readonly member: Member;
  readonly title: string;
  readonly machine: string;
  readonly narrow: boolean;
}

type BoxNode = Node<BoxData, "member">;

const NODE_TYPES = { member: MemberBox };
const FIT = { maxZoom: 1, padding: 0.1 };
/** Where the lines of a tree leave a box. */
const BRANCH = { left: 20 };

/** Fills the frame that panel.tsx keeps for it. */
export function Topology({ scene, boxes, edges, narrow }: TopologyProps) {
  return (
    <ReactFlow
      nodes={boxes.map((box) => node(box, scene, narrow))}
      edges={lines(
        boxes.map(({ member }) => member),
        edges,
        narrow ? "smoothstep" : "default",
      )}
      nodeTypes={NODE_TYPES}
      fitView
      fitViewOptions={FIT}
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
      <Fitted />
      {boxes.length > ROWS && <Controls showInteractive={false} />}
    </ReactFlow>
  );
}

/** The whole picture stays in its frame when that becomes wider or narrower. */
function Fitted() {
  const width = useStore((state) => state.width);
  const { fitView } = useReactFlow();
  useEffect(() => {
    if (width > 0) void fitView(FIT);
  }, [width, fitView]);
  return null;
}

function MemberBox({ data }: NodeProps<BoxNode>) {
  const { member, title, machine, narrow } = data;
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
      <Handle
        type="source"
        position={narrow ? Position.Bottom : Position.Right}
        style={narrow ? BRANCH : {}}
        isConnectable={false}
      />
    </div>
  );
}

function node(
  { member, x, y }: PlacedMember,
  { manifest, allocationName }: PanelScene,
  narrow: boolean,
): BoxNode {
  return {
    id: member.id,
    type: "member",
    ...BOX,
    position: { x, y },
    data: {
      member,
      title: componentTitle(manifest, member.component_key),
      machine: member.node || allocationName(member.allocation_id),
      narrow,
    },
  };
}

/** The lines between two components; what they stand for is written on the first. */
function lines(members: readonly Member[], edges: TopologyProps["edges"], type: string): Edge[] {
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
            type,
            animated: isUnreachable(to.conditions) || isUnreachable(from.conditions),
          })),
      )
      .map((line, at) => (at === 0 ? { ...line, label } : line)),
  );
}
