// Original file: proto/replication.proto

import type { Position as _understudy_replication_v1_Position, Position__Output as _understudy_replication_v1_Position__Output } from '../../../understudy/replication/v1/Position.js';

export interface ResyncNeeded {
  'session'?: (string);
  'position'?: (_understudy_replication_v1_Position | null);
  'replicated_root'?: (Buffer | Uint8Array | string);
  'local_root'?: (Buffer | Uint8Array | string);
  'is_filtered'?: (boolean);
  'filtered_digest'?: (Buffer | Uint8Array | string);
  'reason'?: (string);
  'is_filter_new'?: (boolean);
  'rule'?: (string);
}

export interface ResyncNeeded__Output {
  'session': (string);
  'position': (_understudy_replication_v1_Position__Output | null);
  'replicated_root': (Buffer);
  'local_root': (Buffer);
  'is_filtered': (boolean);
  'filtered_digest': (Buffer);
  'reason': (string);
  'is_filter_new': (boolean);
  'rule': (string);
}
