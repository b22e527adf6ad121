/** The implementation of each protocol: the tests run its vectors, and the adapter offers it. There is nothing to fill in here. */

import { implementation as scuttlebutt } from "./scuttlebutt.js";

export const implementations = [
  scuttlebutt,
];
