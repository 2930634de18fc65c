// Original file: proto/replication.proto

import type { Piece as _understudy_replication_v1_Piece, Piece__Output as _understudy_replication_v1_Piece__Output } from '../../../understudy/replication/v1/Piece.js';
import type { Long } from '@grpc/proto-loader';

export interface Shipment {
  'pieces'?: (_understudy_replication_v1_Piece)[];
  'last_index'?: (number | string | Long);
}

export interface Shipment__Output {
  'pieces': (_understudy_replication_v1_Piece__Output)[];
  'last_index': (number);
}
