// Original file: proto/replication.proto

import type { Who as _understudy_replication_v1_Who, Who__Output as _understudy_replication_v1_Who__Output } from '../../../understudy/replication/v1/Who.js';

export interface ForwardReply {
  'who'?: (_understudy_replication_v1_Who | null);
  'payload'?: (Buffer | Uint8Array | string);
}

export interface ForwardReply__Output {
  'who': (_understudy_replication_v1_Who__Output | null);
  'payload': (Buffer);
}
