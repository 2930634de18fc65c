// Original file: proto/replication.proto

import type { Position as _understudy_replication_v1_Position, Position__Output as _understudy_replication_v1_Position__Output } from '../../../understudy/replication/v1/Position.js';
import type { Long } from '@grpc/proto-loader';

export interface Epoch {
  'id'?: (string);
  'number'?: (number | string | Long);
  'parent'?: (string);
  'fork_index'?: (number | string | Long);
  'begin_index'?: (number | string | Long);
  'aligned_from'?: (number | string | Long);
  'applied'?: (_understudy_replication_v1_Position)[];
}

export interface Epoch__Output {
  'id': (string);
  'number': (number);
  'parent': (string);
  'fork_index': (number);
  'begin_index': (number);
  'aligned_from': (number);
  'applied': (_understudy_replication_v1_Position__Output)[];
}
