// Original file: proto/replication.proto

import type { Who as _understudy_replication_v1_Who, Who__Output as _understudy_replication_v1_Who__Output } from '../../../understudy/replication/v1/Who.js';
import type { Position as _understudy_replication_v1_Position, Position__Output as _understudy_replication_v1_Position__Output } from '../../../understudy/replication/v1/Position.js';

export interface CommonPositionRequest {
  'who'?: (_understudy_replication_v1_Who | null);
  'positions'?: (_understudy_replication_v1_Position)[];
}

export interface CommonPositionRequest__Output {
  'who': (_understudy_replication_v1_Who__Output | null);
  'positions': (_understudy_replication_v1_Position__Output)[];
}
