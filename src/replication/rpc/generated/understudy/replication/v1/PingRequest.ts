// Original file: proto/replication.proto

import type { Who as _understudy_replication_v1_Who, Who__Output as _understudy_replication_v1_Who__Output } from '../../../understudy/replication/v1/Who.js';

export interface PingRequest {
  'who'?: (_understudy_replication_v1_Who | null);
}

export interface PingRequest__Output {
  'who': (_understudy_replication_v1_Who__Output | null);
}
