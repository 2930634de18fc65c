// Original file: proto/replication.proto

import type { Who as _understudy_replication_v1_Who, Who__Output as _understudy_replication_v1_Who__Output } from '../../../understudy/replication/v1/Who.js';
import type { Long } from '@grpc/proto-loader';

export interface CommonPositionReply {
  'who'?: (_understudy_replication_v1_Who | null);
  'common_index'?: (number | string | Long);
  'last_index'?: (number | string | Long);
}

export interface CommonPositionReply__Output {
  'who': (_understudy_replication_v1_Who__Output | null);
  'common_index': (number);
  'last_index': (number);
}
