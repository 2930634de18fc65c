// Original file: proto/replication.proto


export interface FilteredSubPage {
  'sub_page'?: (number);
  'hash'?: (Buffer | Uint8Array | string);
}

export interface FilteredSubPage__Output {
  'sub_page': (number);
  'hash': (Buffer);
}
