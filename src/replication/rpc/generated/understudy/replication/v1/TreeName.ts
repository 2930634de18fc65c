// Original file: proto/replication.proto

export const TreeName = {
  REPLICATED: 0,
  LOCAL: 1,
} as const;

export type TreeName =
  | 'REPLICATED'
  | 0
  | 'LOCAL'
  | 1

export type TreeName__Output = typeof TreeName[keyof typeof TreeName]
