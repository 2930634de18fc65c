// Original file: proto/replication.proto

import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from '../../../understudy/replication/v1/PeerIdentity.js';
import type { Position as _understudy_replication_v1_Position, Position__Output as _understudy_replication_v1_Position__Output } from '../../../understudy/replication/v1/Position.js';

export interface CommonPositionRequest {
  'who'?: (_understudy_replication_v1_PeerIdentity | null);
  'positions'?: (_understudy_replication_v1_Position)[];
}

export interface CommonPositionRequest__Output {
  'who': (_understudy_replication_v1_PeerIdentity__Output | null);
  'positions': (_understudy_replication_v1_Position__Output)[];
}
