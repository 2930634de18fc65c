// Original file: proto/replication.proto

import type { StreamOpen as _understudy_replication_v1_StreamOpen, StreamOpen__Output as _understudy_replication_v1_StreamOpen__Output } from '../../../understudy/replication/v1/StreamOpen.js';
import type { Position as _understudy_replication_v1_Position, Position__Output as _understudy_replication_v1_Position__Output } from '../../../understudy/replication/v1/Position.js';
import type { Long } from '@grpc/proto-loader';

export interface StreamUp {
  'open'?: (_understudy_replication_v1_StreamOpen | null);
  'start'?: (_understudy_replication_v1_Position | null);
  'applied_index'?: (number | string | Long);
  'lost_place'?: (string);
  'last_session'?: (string);
  'message'?: "open"|"start"|"applied_index"|"lost_place";
}

export interface StreamUp__Output {
  'open'?: (_understudy_replication_v1_StreamOpen__Output | null);
  'start'?: (_understudy_replication_v1_Position__Output | null);
  'applied_index'?: (number);
  'lost_place'?: (string);
  'last_session': (string);
  'message'?: "open"|"start"|"applied_index"|"lost_place";
}
