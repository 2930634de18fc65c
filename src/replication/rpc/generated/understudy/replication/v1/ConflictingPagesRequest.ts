// Original file: proto/replication.proto

import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from '../../../understudy/replication/v1/PeerIdentity.js';
import type { TreeName as _understudy_replication_v1_TreeName, TreeName__Output as _understudy_replication_v1_TreeName__Output } from '../../../understudy/replication/v1/TreeName.js';

export interface ConflictingPagesRequest {
  'who'?: (_understudy_replication_v1_PeerIdentity | null);
  'session'?: (string);
  'tree'?: (_understudy_replication_v1_TreeName);
  'pages'?: (Buffer | Uint8Array | string);
}

export interface ConflictingPagesRequest__Output {
  'who': (_understudy_replication_v1_PeerIdentity__Output | null);
  'session': (string);
  'tree': (_understudy_replication_v1_TreeName__Output);
  'pages': (Buffer);
}
