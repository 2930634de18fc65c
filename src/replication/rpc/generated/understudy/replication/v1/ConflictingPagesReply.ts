// Original file: proto/replication.proto

import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from '../../../understudy/replication/v1/PeerIdentity.js';

export interface ConflictingPagesReply {
  'who'?: (_understudy_replication_v1_PeerIdentity | null);
  'pages'?: (number)[];
  'groups'?: (Buffer | Uint8Array | string);
}

export interface ConflictingPagesReply__Output {
  'who': (_understudy_replication_v1_PeerIdentity__Output | null);
  'pages': (number)[];
  'groups': (Buffer);
}
