// Original file: proto/replication.proto

import type { Long } from '@grpc/proto-loader';

export interface Epoch {
  'id'?: (string);
  'number'?: (number | string | Long);
  'parent'?: (string);
  'fork_index'?: (number | string | Long);
  'begin_index'?: (number | string | Long);
  'aligned_from'?: (number | string | Long);
}

export interface Epoch__Output {
  'id': (string);
  'number': (number);
  'parent': (string);
  'fork_index': (number);
  'begin_index': (number);
  'aligned_from': (number);
}
