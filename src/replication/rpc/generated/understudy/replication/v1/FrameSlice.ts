// Original file: proto/replication.proto

import type { Long } from '@grpc/proto-loader';

export interface FrameSlice {
  'first_index'?: (number | string | Long);
  'last_index'?: (number | string | Long);
  'hash'?: (Buffer | Uint8Array | string);
  'frame'?: (Buffer | Uint8Array | string);
}

export interface FrameSlice__Output {
  'first_index': (number);
  'last_index': (number);
  'hash': (Buffer);
  'frame': (Buffer);
}
