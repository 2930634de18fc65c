// Original file: proto/replication.proto

import type { Long } from '@grpc/proto-loader';

export interface Position {
  'index'?: (number | string | Long);
  'hash'?: (Buffer | Uint8Array | string);
  'epoch'?: (string);
}

export interface Position__Output {
  'index': (number);
  'hash': (Buffer);
  'epoch': (string);
}
