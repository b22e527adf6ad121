package peerproof.vectors;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * What says what a message is.
 *
 * @param known the messages of the bundle, by their bytes
 * @param doubt the first case that the implementation's decoder fails; null if there is none
 * @param written the types of messages whose cases the encoder passes all; they matter if the decoder fails a case
 */
record Reader(Map<String, Object> known, String doubt, Set<String> written) {
    static Reader of(Bundle bundle) {
        Map<String, Object> known = new HashMap<>();
        bundle.messages().forEach(each -> known.put(each.bytes(), each.value()));
        bundle.vectors().stream()
                .filter(vector -> vector.value() != null)
                .forEach(vector -> known.put(vector.bytes(), vector.value()));
        return new Reader(known, null, Set.of());
    }

    Reader with(String firstDoubt, Set<String> rightTypes) {
        return new Reader(known, firstDoubt, rightTypes);
    }

    static String typeOf(Object message) {
        return Json.member(message, "type") instanceof String type ? type : null;
    }
}
