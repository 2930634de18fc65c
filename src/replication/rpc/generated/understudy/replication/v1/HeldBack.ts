// Original file: proto/replication.proto


export interface HeldBack {
  'sub_page'?: (number);
  'hash'?: (Buffer | Uint8Array | string);
}

export interface HeldBack__Output {
  'sub_page': (number);
  'hash': (Buffer);
}
