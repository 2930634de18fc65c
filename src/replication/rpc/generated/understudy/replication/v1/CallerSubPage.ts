// Original file: proto/replication.proto


export interface CallerSubPage {
  'sub_page'?: (number);
  'leaves'?: (Buffer | Uint8Array | string);
}

export interface CallerSubPage__Output {
  'sub_page': (number);
  'leaves': (Buffer);
}
