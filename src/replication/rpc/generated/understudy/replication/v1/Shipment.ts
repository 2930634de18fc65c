// Original file: proto/replication.proto

import type { FrameSlice as _understudy_replication_v1_FrameSlice, FrameSlice__Output as _understudy_replication_v1_FrameSlice__Output } from '../../../understudy/replication/v1/FrameSlice.js';
import type { Long } from '@grpc/proto-loader';

export interface Shipment {
  'slices'?: (_understudy_replication_v1_FrameSlice)[];
  'last_index'?: (number | string | Long);
}

export interface Shipment__Output {
  'slices': (_understudy_replication_v1_FrameSlice__Output)[];
  'last_index': (number);
}
