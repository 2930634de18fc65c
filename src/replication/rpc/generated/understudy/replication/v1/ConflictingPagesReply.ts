// Original file: proto/replication.proto

import type { Who as _understudy_replication_v1_Who, Who__Output as _understudy_replication_v1_Who__Output } from '../../../understudy/replication/v1/Who.js';

export interface ConflictingPagesReply {
  'who'?: (_understudy_replication_v1_Who | null);
  'pages'?: (number)[];
  'groups'?: (Buffer | Uint8Array | string);
}

export interface ConflictingPagesReply__Output {
  'who': (_understudy_replication_v1_Who__Output | null);
  'pages': (number)[];
  'groups': (Buffer);
}
